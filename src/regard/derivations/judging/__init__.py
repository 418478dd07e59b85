"""Steps judged on instances: drawn at random under the assumptions, driven to limits, confirmed in certified balls."""

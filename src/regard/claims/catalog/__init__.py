"""One file per claim; each exports CLAIM. A new claim is a new file here and no edit elsewhere."""

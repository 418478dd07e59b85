"""Published homeworks: where their pieces stand in a folder, and how each is called in numpy's terms."""

"""One file per law; each defines `LAW`."""

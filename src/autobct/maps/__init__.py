"""Value maps as files: how one is written, checked and found."""

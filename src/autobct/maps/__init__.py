"""Value maps as files: writing, verifying and finding them."""

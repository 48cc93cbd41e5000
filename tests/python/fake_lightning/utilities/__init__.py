"""Parts of Lightning that all others use."""

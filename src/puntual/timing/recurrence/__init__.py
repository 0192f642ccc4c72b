"""Recurrence rules (RFC 5545, section 3.3.10) as patterns of wall clock seconds, for any year without a walk."""

"""Cron: one grammar per declared dialect, compiled to bit masks, matched against a zone's wall clock."""

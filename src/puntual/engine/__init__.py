"""The flow, one file per arrow: plan, claim, execute, settle; and upkeep, which looks after the rest."""

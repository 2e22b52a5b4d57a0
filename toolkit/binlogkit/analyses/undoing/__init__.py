"""From changes to statements that undo them or make them again."""

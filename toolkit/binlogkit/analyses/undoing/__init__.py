"""From changes to the statements that take them back, or make them again."""

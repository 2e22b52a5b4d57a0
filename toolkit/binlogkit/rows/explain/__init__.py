"""The walks of row images and documents, and the logs whose events are explained."""

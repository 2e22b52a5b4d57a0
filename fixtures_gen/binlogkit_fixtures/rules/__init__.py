"""The logging rules on real servers: what is predicted of a statement, against what is logged.

``python -m binlogkit_fixtures.rules prove`` plays a case of every rule of the document;
``python -m binlogkit_fixtures.rules campaign --statements 5000`` plays statements that are made up.
"""

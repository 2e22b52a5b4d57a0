package jdk.nashorn.api.scripting;

import java.util.Map;

/** A name that Maxwell's JSON writer asks for and Java has had no class for since 15; no value is one. */
public abstract class ScriptObjectMirror implements Map<String, Object> {}

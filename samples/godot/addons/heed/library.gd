# For scripts that do not use heed's classes.
extends RefCounted

# Returns false if Godot did not load the add-on's library. Then an error says what to do, and the game can continue without heed.
static func is_there() -> bool:
	if ClassDB.class_exists("HeedDevice"):
		return true
	push_error("heed: Godot loaded no library of the add-on for %s %s. Put the one for this system into addons/heed/bin, as " % [
		OS.get_name(), Engine.get_architecture_name()] +
		"addons/heed/heed.gdextension names it; export the project again; and keep the library beside the exported program.")
	return false

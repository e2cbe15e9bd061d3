# Opens the village or the crowd if the add-on's library is present. An exported game must do the same: scripts that use heed's classes do
# not compile without the library, so that a script without them must check first.
extends Control

const Options := preload("res://demo/options.gd")
const Library := preload("res://addons/heed/library.gd")

func _ready() -> void:
	if Library.is_there():
		var options := Options.new()
		options.read(OS.get_cmdline_user_args())  # the scene itself reports errors
		get_tree().change_scene_to_file.call_deferred("res://demo/%s.tscn" % ("crowd" if options.scene == "crowd" else "village"))
		return
	var label := Label.new()
	label.text = "heed's library is missing; the console says what to do."
	label.position = Vector2(40, 40)
	add_child(label)
	if DisplayServer.get_name() == "headless":
		get_tree().quit(3)

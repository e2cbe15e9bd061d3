# Opens the village or the crowd, if the add-on's library is there. An exported game does the same: scripts that name heed's classes do not compile
# without them, so that a script which does not name them must look first.
extends Control

const Options := preload("res://demo/options.gd")
const Library := preload("res://addons/heed/library.gd")

func _ready() -> void:
	if Library.is_there():
		var options := Options.new()
		options.read(OS.get_cmdline_user_args())  # the scene itself tells what is wrong
		get_tree().change_scene_to_file.call_deferred("res://demo/%s.tscn" % ("crowd" if options.scene == "crowd" else "village"))
		return
	var label := Label.new()
	label.text = "heed's library is missing; the console says what to do."
	label.position = Vector2(40, 40)
	add_child(label)
	if DisplayServer.get_name() == "headless":
		get_tree().quit(3)

# Opens the village, if the add-on's library is there. An exported game does the same: scripts that name heed's classes do not compile
# without them, so that a script which does not name them must look first.
extends Control

const Library := preload("res://addons/heed/library.gd")

func _ready() -> void:
	if Library.is_there():
		get_tree().change_scene_to_file.call_deferred("res://demo/village.tscn")
		return
	var label := Label.new()
	label.text = "heed's library is missing; the console says what to do."
	label.position = Vector2(40, 40)
	add_child(label)
	if DisplayServer.get_name() == "headless":
		get_tree().quit(3)

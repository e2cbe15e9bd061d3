# What the command line asks for, after "--".
#   --scene village|crowd   what opens; the crowd of policy.onnx takes --agents COUNT, --budget, --detail, --bench, --png, and
#                     --after SECONDS, when the picture is taken
#   --model FILE, --encoder FOLDER, --personas FOLDER   the language model, the model of sentences, and the characters' files
#   --ears FOLDER     the model of speech, with which the player may speak while Tab is down; --recording FILE.wav is what --show speak says
#   --budget MS       how much of each frame the characters may take; default 4, and 0, no limit, with --png
#   --speak none|heed|CLASS   whether the characters speak by themselves while --bench or --show goes on; CLASS: by nodes of another
#                     class with HeedSpeaker's methods and signals
#   --speech auto|cpu|gpu   where the characters' model computes; auto: on Godot's GPU, unless that is a software driver
#   --birds COUNT     how many fly; 0: 320 on a GPU, 80 on the CPU
#   --detail full|plain   plain: without shadows, sky, glow and smooth edges, for a processor that draws
#   --bench SECONDS   plays for so long, and ends; --log FILE then has the time of each frame in ms, a line for each, and in its last
#                     lines, after "#", what came of it
#   --show WHAT --png FILE   plays, writes a picture and ends; WHAT: settle, scatter, talk, look or speak
extends RefCounted

var scene := "village"
var agents := 128
var after := 23.0
var model := ""
var encoder := ""
var personas := ""
var ears := ""
var recording := ""
var budget := 4.0
var speak := "none"
var speech := "auto"
var birds := 0
var detail := "full"
var speaker: String:  # the class
	get: return "HeedSpeaker" if speak in ["none", "heed"] else speak
var bench := 0.0
var log_file := ""
var show := "settle"
var png := ""

func read(arguments: PackedStringArray) -> String:
	for i in range(0, arguments.size(), 2):
		if i + 1 == arguments.size():
			return "%s needs a value" % arguments[i]
		var value := arguments[i + 1]
		match arguments[i]:
			"--scene": scene = value
			"--agents": agents = value.to_int()
			"--after": after = value.to_float()
			"--model": model = value
			"--encoder": encoder = value
			"--personas": personas = value
			"--ears": ears = value
			"--recording": recording = value
			"--budget": budget = value.to_float()
			"--speak": speak = value
			"--speech": speech = value
			"--birds": birds = value.to_int()
			"--detail": detail = value
			"--bench": bench = value.to_float()
			"--log": log_file = value
			"--show": show = value
			"--png": png = value
			_: return "there is no %s" % arguments[i]
	if not speak in ["none", "heed"] and not ClassDB.class_exists(speak):
		return "--speak is none, heed or the name of a class"
	if png != "" and not "--budget" in arguments:
		budget = 0.0
	if not speech in ["auto", "cpu", "gpu"]:
		return "--speech is auto, cpu or gpu"
	if not detail in ["full", "plain"]:
		return "--detail is full or plain"
	if not scene in ["village", "crowd"]:
		return "--scene is village or crowd"
	if agents < 1:
		return "--agents is a count of one or more"
	if birds < 0:
		return "--birds is a count"
	if not show in ["settle", "scatter", "talk", "look", "speak"]:
		return "--show is settle, scatter, talk, look or speak"
	if png != "" and show == "speak" and (ears == "" or recording == ""):
		return "--show speak needs --ears and --recording"
	return ""

# A crowd that crosses a square. policy.onnx steers each agent; policy/policy.py trained it in PyTorch and exported it. The network sees all
# agents at once, and returns the velocity that each wants. options.gd has the command line.
extends Node3D

const Options := preload("res://demo/options.gd")
const Scenery := preload("res://demo/scenery.gd")
const Trails := preload("res://demo/crowd_trails.gd")
const RADIUS := 0.3  # of an agent, and REACTION: as in policy.py
const REACTION := 0.3

var options := Options.new()
var device := HeedDevice.new()
var policy := HeedModel.new()
var places := PackedVector2Array()
var velocities := PackedVector2Array()
var goals := PackedVector2Array()
var colors := PackedColorArray()
var _wanted := PackedFloat32Array()
var _bodies := MultiMeshInstance3D.new()
var _trails := Trails.new()
var _told := Label.new()
var _cost := ""
var _runs := 0
var _failures := 0
var _crossings := 0
var _touches := 0
var _touching := {}
var _time := 0.0
var _kilobytes := FileAccess.get_file_as_bytes("res://demo/policy.onnx").size() / 1024

func _ready() -> void:
	var problem := options.read(OS.get_cmdline_user_args())
	if problem != "":
		printerr("crowd: " + problem)
		get_tree().quit(2)
		return
	device.open()
	_make_crowd(options.agents)
	_make_scene()
	add_child(policy)
	policy.failed.connect(func(_why: String) -> void: _failures += 1)
	policy.finished.connect(_on_finished)
	policy.budget_msec = options.budget
	if policy.load("res://demo/policy.onnx") == OK:
		policy.set_largest("count", options.agents)
		policy.open(device)
	if options.png != "" or options.bench > 0.0:
		_show()

# Agents start on a circle with goals on the opposite side, so that all paths lead through the middle.
func _make_crowd(count: int) -> void:
	var radius := maxf(8.0, 2.7 * RADIUS * count / TAU)
	for i in count:
		var angle := TAU * i / count
		places.append(radius * Vector2.from_angle(angle))
		goals.append(-places[i])
		velocities.append(Vector2.ZERO)
		colors.append(Color.from_ok_hsl(angle / TAU, 0.85, 0.62))
	_wanted.resize(2 * count)

func _on_finished() -> void:
	_wanted = policy.get_floats("velocity")
	_runs += 1
	_cost = "%.1f ms for all of them, in %s" % [policy.get_msec(), "1 frame" if policy.get_frames() < 2 else "%d frames" % policy.get_frames()]

func _agents() -> PackedFloat32Array:
	var rows := PackedFloat32Array()
	for i in places.size():
		rows.append_array([places[i].x, places[i].y, velocities[i].x, velocities[i].y, goals[i].x, goals[i].y])
	return rows

func _process(delta: float) -> void:
	var seconds := clampf(delta, 0.0, 0.05)
	_time += seconds
	var share := 1.0 - exp(-seconds / REACTION)
	for i in places.size():
		velocities[i] += share * (Vector2(_wanted[2 * i], _wanted[2 * i + 1]) - velocities[i])
		places[i] += seconds * velocities[i]
		var body := Transform3D(Basis.IDENTITY, Vector3(places[i].x, 0.0, places[i].y))
		if velocities[i].length() > 0.1:
			body.basis = Basis.looking_at(Vector3(velocities[i].x, 0.0, velocities[i].y))
		_bodies.multimesh.set_instance_transform(i, body)
	_trails.follow(places, _time)
	if options.bench > 0.0:
		_count_touches()
	if not policy.is_running():
		policy.set_floats("agents", _agents(), [places.size(), 6])
		policy.run()
	if arrived() == places.size():
		_crossings += 1
		for i in goals.size():
			goals[i] = -goals[i]
	_tell()

func arrived() -> int:
	var count := 0
	for i in places.size():
		if places[i].distance_to(goals[i]) < 0.5:
			count += 1
	return count

func _count_touches() -> void:
	for i in places.size():
		for j in i:
			var touches := places[i].distance_squared_to(places[j]) < 4.0 * RADIUS * RADIUS
			if touches and not _touching.has(Vector2i(i, j)):
				_touches += 1
			if touches:
				_touching[Vector2i(i, j)] = true
			else:
				_touching.erase(Vector2i(i, j))

func _tell() -> void:
	_told.text = "%d agents, each steered by policy.onnx (%d KB), trained in PyTorch\n%s: %s\nbudget of a frame: %s" % [
		places.size(), _kilobytes, device.describe(), _cost, "%.1f ms" % options.budget if options.budget > 0.0 else "none"]

# --- Scenery

func _make_scene() -> void:
	var radius := places[0].length()
	var camera := Camera3D.new()
	camera.projection = Camera3D.PROJECTION_PERSPECTIVE
	camera.fov = 40
	add_child(camera)
	camera.look_at_from_position(Vector3(0, 2.35 * radius, 1.45 * radius), Vector3(0, 0, 0.1 * radius))
	var sun := DirectionalLight3D.new()
	sun.rotation_degrees = Vector3(-48, 35, 0)
	sun.light_energy = 1.1
	sun.shadow_enabled = options.detail == "full"
	add_child(sun)
	var environment := Environment.new()
	environment.background_mode = Environment.BG_COLOR
	environment.background_color = Color(0.05, 0.055, 0.08)
	environment.ambient_light_source = Environment.AMBIENT_SOURCE_COLOR
	environment.ambient_light_color = Color(0.62, 0.66, 0.80)
	environment.ambient_light_energy = 0.55
	environment.tonemap_mode = Environment.TONE_MAPPER_FILMIC
	var world := WorldEnvironment.new()
	world.environment = environment
	add_child(world)
	_ground(radius)
	_bodies.multimesh = MultiMesh.new()
	_bodies.multimesh.transform_format = MultiMesh.TRANSFORM_3D
	_bodies.multimesh.use_colors = true
	_bodies.multimesh.mesh = _body()
	_bodies.multimesh.instance_count = places.size()
	for i in places.size():
		_bodies.multimesh.set_instance_color(i, colors[i])
	add_child(_bodies)
	_trails.make(colors)
	add_child(_trails)
	var layer := CanvasLayer.new()
	add_child(layer)
	_told.position = Vector2(20, 16)
	_told.add_theme_font_size_override("font_size", 16)
	_told.add_theme_color_override("font_color", Color(0.86, 0.88, 0.95))
	layer.add_child(_told)

func _ground(radius: float) -> void:
	var ground := MeshInstance3D.new()
	ground.mesh = Scenery.pole(1.25 * radius, 1.25 * radius, 0.2)
	ground.mesh.radial_segments = 96
	ground.material_override = Scenery.material(Color(0.15, 0.16, 0.20))
	ground.position.y = -0.11
	add_child(ground)
	for i in goals.size():  # a ring at each agent's goal
		var ring := MeshInstance3D.new()
		ring.mesh = TorusMesh.new()
		ring.mesh.inner_radius = 0.30
		ring.mesh.outer_radius = 0.38
		ring.mesh.rings = 20
		ring.mesh.ring_segments = 4
		ring.material_override = Scenery.material(colors[i], 0.35)
		ring.position = Vector3(goals[i].x, 0.0, goals[i].y)
		add_child(ring)

# A body with a nose, which shows the direction.
func _body() -> Mesh:
	var material := StandardMaterial3D.new()
	material.vertex_color_use_as_albedo = true
	material.vertex_color_is_srgb = true
	material.roughness = 0.6
	var tool := SurfaceTool.new()
	var trunk := CapsuleMesh.new()
	trunk.radius = RADIUS * 0.9
	trunk.height = 1.1
	trunk.radial_segments = 16
	trunk.rings = 4
	tool.append_from(trunk, 0, Transform3D(Basis.IDENTITY, Vector3(0, 0.55, 0)))
	tool.append_from(Scenery.ball(0.11), 0, Transform3D(Basis.IDENTITY, Vector3(0, 0.78, -RADIUS * 0.95)))
	var mesh := tool.commit()
	mesh.surface_set_material(0, material)
	return mesh

# --- Without a player: for a picture, or to measure

func _show() -> void:
	var end := Time.get_ticks_msec() + 300000
	while _time < (options.bench if options.bench > 0.0 else options.after) and Time.get_ticks_msec() < end:
		await get_tree().process_frame
	print("crowd: %d runs of the policy, %d failures, in %.1f s; all have crossed %d times, %d of %d are there, and two touched %d times" % [
		_runs, _failures, _time, _crossings, arrived(), places.size(), _touches])
	var problem := OK
	if options.png != "":
		await RenderingServer.frame_post_draw
		problem = get_viewport().get_texture().get_image().save_png(options.png)
		print("%s: %s" % [options.png, "written" if problem == OK else error_string(problem)])
	get_tree().quit(0 if problem == OK and _runs > 0 and _failures == 0 else 1)

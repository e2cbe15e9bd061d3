# A small village at dusk, made of Godot's own primitives.
extends Node3D

const SKY := """
shader_type sky;
float hash(vec3 p) { return fract(sin(dot(p, vec3(12.9898, 78.233, 37.719))) * 43758.5453); }
void sky() {
	float h = EYEDIR.y;
	float sunward = 0.5 + 0.5 * dot(normalize(vec3(EYEDIR.x, 0.0, EYEDIR.z) + 1e-4), normalize(vec3(-0.45, 0.0, -1.0)));
	vec3 low = mix(vec3(0.42, 0.22, 0.36), vec3(1.25, 0.52, 0.20), pow(sunward, 3.0));
	vec3 middle = mix(vec3(0.15, 0.13, 0.30), vec3(0.55, 0.26, 0.36), sunward);
	vec3 high = vec3(0.035, 0.045, 0.12);
	vec3 color = mix(low, middle, smoothstep(0.0, 0.16, h));
	color = mix(color, high, smoothstep(0.10, 0.62, h));
	color = mix(color, low * 0.25, smoothstep(0.0, -0.2, h));
	vec3 cell = floor(EYEDIR * 190.0);
	float star = step(0.9975, hash(cell)) * smoothstep(0.22, 0.6, h);
	color += star * vec3(0.8, 0.85, 1.0) * (0.4 + 0.6 * hash(cell + 1.0));
	vec3 moon = normalize(vec3(0.33, 0.27, -0.8));
	float disc = smoothstep(0.9991, 0.9994, dot(EYEDIR, moon)) * (1.0 - 0.92 * smoothstep(0.9986, 0.9990, dot(EYEDIR, normalize(moon + vec3(0.02, 0.012, 0.0)))));
	color += disc * vec3(1.0, 0.95, 0.85) + 0.10 * pow(max(dot(EYEDIR, moon), 0.0), 180.0) * vec3(0.8, 0.8, 1.0);
	COLOR = 0.62 * color;
}
"""

var is_plain := false  # set before it enters the tree: leaves out what is slow on a software driver
var _flames: Array[OmniLight3D] = []
var _time := 0.0

static func material(color: Color, glow := 0.0, rough := 0.95) -> StandardMaterial3D:
	var made := StandardMaterial3D.new()
	made.albedo_color = color
	made.roughness = rough
	if glow > 0.0:
		made.emission_enabled = true
		made.emission = color
		made.emission_energy_multiplier = glow
	return made

func part(mesh: Mesh, place: Vector3, look: Material, turn := Vector3.ZERO, parent: Node3D = self) -> MeshInstance3D:
	var node := MeshInstance3D.new()
	node.mesh = mesh
	node.material_override = look
	node.position = place
	node.rotation_degrees = turn
	parent.add_child(node)
	return node

static func box(size: Vector3) -> BoxMesh:
	var mesh := BoxMesh.new()
	mesh.size = size
	return mesh

static func prism(size: Vector3) -> PrismMesh:
	var mesh := PrismMesh.new()
	mesh.size = size
	return mesh

static func ball(radius: float, height := 0.0) -> SphereMesh:
	var mesh := SphereMesh.new()
	mesh.radius = radius
	mesh.height = 2.0 * radius if height == 0.0 else height
	mesh.radial_segments = 24
	mesh.rings = 12
	return mesh

static func pole(bottom: float, top: float, height: float) -> CylinderMesh:
	var mesh := CylinderMesh.new()
	mesh.bottom_radius = bottom
	mesh.top_radius = top
	mesh.height = height
	mesh.radial_segments = 12
	mesh.rings = 1
	return mesh

func light(place: Vector3, color: Color, energy: float, reach: float, flickers := false) -> void:
	var lamp := OmniLight3D.new()
	lamp.position = place
	lamp.light_color = color
	lamp.light_energy = energy
	lamp.omni_range = reach
	add_child(lamp)
	if flickers:
		lamp.set_meta("energy", energy)
		_flames.append(lamp)

func _ready() -> void:
	_sky()
	_ground()
	_house(Vector3(-5.6, 0, -4.6), 14, Vector3(4.2, 2.6, 3.6), Color(0.30, 0.26, 0.25), Color(0.19, 0.12, 0.12), false)
	_house(Vector3(4.6, 0, -5.6), -12, Vector3(5.6, 3.4, 4.2), Color(0.46, 0.38, 0.30), Color(0.27, 0.11, 0.09), true)
	_house(Vector3(-1.0, 0, -9.2), 4, Vector3(4.0, 2.6, 3.4), Color(0.40, 0.36, 0.34), Color(0.17, 0.14, 0.19), true)
	_house(Vector3(-10.2, 0, -8.2), 25, Vector3(3.8, 2.8, 3.4), Color(0.38, 0.33, 0.29), Color(0.21, 0.13, 0.11), true)
	_forge()
	_inn_sign()
	_well()
	_mountain()
	for place: Vector3 in [Vector3(-13, 0, -3.5), Vector3(-8.4, 0, -12), Vector3(1.8, 0, -13), Vector3(8.8, 0, -10.5), Vector3(-15.5, 0, -9),
			Vector3(14.5, 0, -5.0), Vector3(-3.8, 0, -14), Vector3(-11.5, 0, 1.2)]:
		_tree(place)
	for place: Vector3 in [Vector3(-2.2, 0, -2.6), Vector3(1.9, 0, -4.4)]:
		_lamp(place)

func _sky() -> void:
	var sky := Sky.new()
	var shader := ShaderMaterial.new()
	shader.shader = Shader.new()
	shader.shader.code = SKY
	sky.sky_material = shader
	sky.radiance_size = Sky.RADIANCE_SIZE_64
	sky.process_mode = Sky.PROCESS_MODE_QUALITY
	var environment := Environment.new()
	environment.background_mode = Environment.BG_COLOR if is_plain else Environment.BG_SKY
	environment.background_color = Color(0.42, 0.24, 0.34)
	environment.sky = null if is_plain else sky
	environment.ambient_light_source = Environment.AMBIENT_SOURCE_COLOR
	environment.ambient_light_color = Color(0.40, 0.36, 0.58)
	environment.ambient_light_energy = 0.55
	environment.tonemap_mode = Environment.TONE_MAPPER_FILMIC
	environment.glow_enabled = not is_plain
	environment.glow_intensity = 0.55
	environment.glow_bloom = 0.05
	environment.fog_enabled = not is_plain
	environment.fog_light_color = Color(0.60, 0.34, 0.34)
	environment.fog_density = 0.009
	environment.fog_sky_affect = 0.0
	var world := WorldEnvironment.new()
	world.environment = environment
	add_child(world)
	var sun := DirectionalLight3D.new()
	sun.rotation_degrees = Vector3(-13, 205, 0)
	sun.light_color = Color(1.0, 0.58, 0.36)
	sun.light_energy = 0.9
	sun.shadow_enabled = not is_plain
	sun.directional_shadow_mode = DirectionalLight3D.SHADOW_ORTHOGONAL
	sun.directional_shadow_max_distance = 40.0
	add_child(sun)
	var fill := DirectionalLight3D.new()  # light of the sky behind the player
	fill.rotation_degrees = Vector3(-30, 18, 0)
	fill.light_color = Color(0.55, 0.60, 0.95)
	fill.light_energy = 0.42
	add_child(fill)

func _ground() -> void:
	part(box(Vector3(160, 0.2, 160)), Vector3(0, -0.1, -40), material(Color(0.13, 0.17, 0.10)))
	var path := material(Color(0.30, 0.24, 0.18))
	part(box(Vector3(2.6, 0.04, 22)), Vector3(0, 0.005, -1), path, Vector3(0, 6, 0))
	part(box(Vector3(15, 0.04, 2.0)), Vector3(-0.6, 0.008, -2.2), path, Vector3(0, -4, 0))
	var random := RandomNumberGenerator.new()
	random.seed = 3
	var grass := material(Color(0.12, 0.17, 0.09))
	for i in 70:
		var place := Vector3(random.randf_range(-16, 14), 0.1, random.randf_range(-14, 8))
		if absf(place.x) > 2.2:
			part(prism(Vector3(0.06, random.randf_range(0.2, 0.5), 0.02)), place, grass, Vector3(0, random.randf() * 180, random.randf_range(-15, 15)))

func _house(place: Vector3, turn: float, size: Vector3, wall: Color, roof: Color, has_windows: bool) -> void:
	var house := Node3D.new()
	house.position = place
	house.rotation_degrees.y = turn
	add_child(house)
	var beam := material(Color(0.12, 0.08, 0.06))
	part(box(size), Vector3(0, size.y / 2, 0), material(wall), Vector3.ZERO, house)
	part(prism(Vector3(size.z + 1.0, size.y * 0.62, size.x + 0.9)), Vector3(0, size.y + size.y * 0.31, 0), material(roof), Vector3(0, 90, 0), house)
	for x: float in [-0.5, 0.5]:
		part(box(Vector3(0.16, size.y, 0.16)), Vector3(x * size.x, size.y / 2, size.z / 2), beam, Vector3.ZERO, house)
	part(box(Vector3(size.x, 0.14, 0.14)), Vector3(0, size.y * 0.55, size.z / 2 + 0.02), beam, Vector3.ZERO, house)
	part(box(Vector3(0.6, 1.4, 0.6)), Vector3(size.x * 0.28, size.y * 1.55, -0.5), material(Color(0.22, 0.18, 0.18)), Vector3.ZERO, house)
	if not has_windows:
		return
	var warm := material(Color(1.0, 0.66, 0.28), 2.4)
	part(box(Vector3(0.9, 1.7, 0.1)), Vector3(0, 0.85, size.z / 2 + 0.02), material(Color(0.20, 0.12, 0.08)), Vector3.ZERO, house)
	for x: float in [-0.33, 0.33]:
		for y: float in ([0.35, 0.78] if size.y > 3.0 else [0.36]):
			var window := Vector3(x * size.x, y * size.y, size.z / 2 + 0.03)
			part(box(Vector3(0.62, 0.62, 0.05)), window, warm, Vector3.ZERO, house)
			part(box(Vector3(0.06, 0.66, 0.07)), window, beam, Vector3.ZERO, house)
			part(box(Vector3(0.66, 0.06, 0.07)), window, beam, Vector3.ZERO, house)
	light(place + Vector3(0, 1.4, size.z / 2 + 1.2).rotated(Vector3.UP, deg_to_rad(turn)), Color(1.0, 0.65, 0.35), 1.1, 4.5)

func _forge() -> void:
	var wood := material(Color(0.17, 0.11, 0.08))
	for x: float in [-7.4, -4.4]:
		part(pole(0.09, 0.09, 2.3), Vector3(x, 1.15, -1.6), wood)
	part(box(Vector3(3.8, 0.12, 2.2)), Vector3(-5.9, 2.42, -2.2), material(Color(0.20, 0.13, 0.12)), Vector3(9, 0, 0))
	part(box(Vector3(1.5, 0.9, 0.9)), Vector3(-6.8, 0.45, -2.4), material(Color(0.20, 0.19, 0.20)))
	part(box(Vector3(1.1, 0.18, 0.6)), Vector3(-6.8, 0.95, -2.4), material(Color(1.0, 0.36, 0.08), 4.0))
	part(pole(0.22, 0.28, 0.5), Vector3(-4.9, 0.25, -1.1), wood)
	part(box(Vector3(0.62, 0.2, 0.26)), Vector3(-4.9, 0.6, -1.1), material(Color(0.16, 0.17, 0.20), 0.0, 0.4))
	part(box(Vector3(0.4, 0.04, 0.09)), Vector3(-4.8, 0.73, -1.1), material(Color(1.0, 0.45, 0.12), 3.0), Vector3(0, 20, 0))
	light(Vector3(-6.5, 1.5, -1.6), Color(1.0, 0.45, 0.16), 3.2, 6.0, true)

func _inn_sign() -> void:
	var wood := material(Color(0.20, 0.13, 0.08))
	part(box(Vector3(0.1, 0.1, 1.0)), Vector3(2.55, 2.5, -3.0), wood)
	part(box(Vector3(0.06, 0.66, 0.8)), Vector3(2.55, 2.05, -2.9), material(Color(0.36, 0.24, 0.12)))
	var title := Label3D.new()
	title.text = "The Silver\nKettle"
	title.font_size = 44
	title.pixel_size = 0.0042
	title.position = Vector3(2.8, 2.95, -3.05)
	title.modulate = Color(1.0, 0.86, 0.55)
	title.outline_modulate = Color(0.1, 0.05, 0.02)
	add_child(title)

func _well() -> void:
	var stone := material(Color(0.30, 0.29, 0.31))
	part(pole(0.75, 0.7, 0.7), Vector3(0.6, 0.35, -0.6), stone)
	part(pole(0.55, 0.55, 0.72), Vector3(0.6, 0.36, -0.6), material(Color(0.03, 0.05, 0.08), 0.0, 0.2))
	for x: float in [0.0, 1.2]:
		part(box(Vector3(0.1, 1.5, 0.1)), Vector3(x, 1.2, -0.6), material(Color(0.17, 0.11, 0.08)))
	part(prism(Vector3(1.3, 0.6, 1.9)), Vector3(0.6, 2.2, -0.6), material(Color(0.22, 0.13, 0.11)), Vector3(0, 90, 0))

func _mountain() -> void:
	var rock := material(Color(0.17, 0.14, 0.19))
	part(ball(15, 15), Vector3(19, -1.5, -24), rock)
	part(pole(12, 0.8, 19), Vector3(27, 8, -38), material(Color(0.14, 0.12, 0.19)))
	part(pole(16, 1.0, 24), Vector3(-26, 8, -52), material(Color(0.15, 0.12, 0.20)))
	part(pole(13, 0.6, 16), Vector3(-2, 5, -58), material(Color(0.16, 0.12, 0.20)))
	part(ball(3.0, 2.6), Vector3(9.4, 0.0, -2.6), rock)
	part(ball(2.0, 1.6), Vector3(11.6, 0.3, -3.6), rock)
	var gold := material(Color(1.0, 0.72, 0.22), 0.22, 0.25)
	var random := RandomNumberGenerator.new()
	random.seed = 11
	for i in 150:  # coins, in a heap
		var away := Vector2(random.randfn(0.0, 0.55), random.randfn(0.0, 0.4))
		part(pole(0.11, 0.11, 0.03), Vector3(8.2 + away.x, 0.72 * exp(-away.length_squared()) + 0.02, 0.1 + away.y), gold,
			Vector3(random.randf_range(-50, 50), random.randf() * 180, random.randf_range(-50, 50)))
	light(Vector3(8.2, 2.6, 1.0), Color(1.0, 0.62, 0.32), 2.4, 6.0, true)

func _tree(place: Vector3) -> void:
	var height := 3.2 + 1.6 * fposmod(place.x * 0.37, 1.0)
	part(pole(0.2, 0.14, 1.6), place + Vector3(0, 0.8, 0), material(Color(0.14, 0.09, 0.07)))
	for i in 3:
		part(pole(1.35 - 0.35 * i, 0.05, height * 0.5), place + Vector3(0, 1.4 + height * 0.28 * i, 0), material(Color(0.07, 0.13 + 0.02 * i, 0.10)))

func _lamp(place: Vector3) -> void:
	part(pole(0.06, 0.05, 2.6), place + Vector3(0, 1.3, 0), material(Color(0.10, 0.09, 0.10)))
	part(ball(0.17), place + Vector3(0, 2.7, 0), material(Color(1.0, 0.78, 0.42), 4.0))
	light(place + Vector3(0, 2.6, 0.3), Color(1.0, 0.72, 0.42), 2.2, 6.5)

func _process(delta: float) -> void:
	_time += delta
	for i in _flames.size():
		_flames[i].light_energy = _flames[i].get_meta("energy") * (0.85 + 0.15 * sin(11.0 * _time + i) * sin(17.3 * _time))

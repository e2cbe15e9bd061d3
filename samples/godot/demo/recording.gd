# Reads a WAV file of 16 bits and one channel.
extends RefCounted

var samples := PackedFloat32Array()  # from -1 to 1
var rate := 0  # samples in a second; 0: it is no such file

func _init(path: String) -> void:
	const HEAD := 44
	var bytes := FileAccess.get_file_as_bytes(path)
	if bytes.size() < HEAD or bytes.slice(0, 4).get_string_from_ascii() != "RIFF" or bytes.decode_u16(22) != 1 or bytes.decode_u16(34) != 16:
		return
	for at in range(HEAD, bytes.size() - 1, 2):
		samples.append(bytes.decode_s16(at) / 32768.0)
	rate = bytes.decode_u32(24)

"""The decoders behind `eccdata.video.decoding.decode`, a file each."""

"""Arrays in, arrays out: sphere, Gram tiles, distance to a hull, interior point, smooth maximum."""

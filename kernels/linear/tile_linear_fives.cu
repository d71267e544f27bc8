// tile_linear and tile_gated for Q5_0, Q5_1 and Q8_0. See tile_linear.cuh.
#include "tile_linear.cuh"

TILE_PRODUCTS(Q5_0)
TILE_PRODUCTS(Q5_1)
TILE_PRODUCTS(Q8_0)

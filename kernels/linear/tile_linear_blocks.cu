// tile_linear and tile_gated for Q4_0, Q4_1 and IQ4_NL. See tile_linear.cuh.
#include "tile_linear.cuh"

TILE_PRODUCTS(Q4_0)
TILE_PRODUCTS(Q4_1)
TILE_PRODUCTS(IQ4_NL)

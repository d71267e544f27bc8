// tile_linear and tile_gated for Q2_K, Q3_K and IQ4_XS. See tile_linear.cuh.
#include "tile_linear.cuh"

TILE_PRODUCTS(Q2_K)
TILE_PRODUCTS(Q3_K)
TILE_PRODUCTS(IQ4_XS)

// tile_linear and tile_gated for Q4_K, Q5_K and Q6_K. See tile_linear.cuh.
#include "tile_linear.cuh"

TILE_PRODUCTS(Q4_K)
TILE_PRODUCTS(Q5_K)
TILE_PRODUCTS(Q6_K)

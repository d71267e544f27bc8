#!/bin/sh
# Fetches NVIDIA's CUDA compiler as Python packages, for machines that have none: DIR/bin/nvcc then compiles kernels. No GPU and no
# driver are needed.
#
# usage: fetch_nvcc.sh [DIR]      (default: target/nvcc; needs python3 with venv and pip)
set -eu

dir=${1:-target/nvcc}
version=13.0
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check \
    "nvidia-cuda-nvcc==$version.*" "nvidia-cuda-crt==$version.*" "nvidia-nvvm==$version.*" \
    "nvidia-cuda-runtime==$version.*" "nvidia-cuda-cccl==$version.*"
root=$(cd "$dir"/venv/lib/python3*/site-packages/nvidia/cu13 && pwd)
mkdir -p "$dir/bin"
# nvcc finds its parts from the place it is called in, so this calls it there.
cat >"$dir/bin/nvcc" <<END
#!/bin/sh
exec "$root/bin/nvcc" "\$@"
END
chmod +x "$dir/bin/nvcc"
found=$("$dir/bin/nvcc" --version | tail -n 1)
echo "$dir/bin/nvcc: $found"

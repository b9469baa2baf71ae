# without_cuda.sh FOLDER COMMAND...: runs a command that finds no CUDA, in a mount namespace that
# ends with it.
folder=$1
shift
mkdir -p "$folder/nothing"
exec unshare -rm sh -c '
  nothing=$1
  shift
  for hidden in "$LWCC_DEPS/cuda/bin" /usr/local/cuda/bin; do
    [ ! -d "$hidden" ] || mount --bind "$nothing" "$hidden"
  done
  path=
  IFS=:
  for each in $PATH; do
    [ -e "$each/nvcc" ] || [ -e "$each/nvidia-smi" ] || path=$path:$each
  done
  PATH=${path#:} exec "$@"' sh "$folder/nothing" "$@"

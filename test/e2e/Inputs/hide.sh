# hide.sh FOLDER:FOLDER... COMMAND...: runs a command for which these folders are empty, in a mount
# namespace that ends with it.
folders=$1
shift
exec unshare -rm sh -c '
  IFS=:
  for hidden in $1; do
    mount -t tmpfs none "$hidden" || exit 70
  done
  unset IFS
  shift
  exec "$@"' sh "$folders" "$@"

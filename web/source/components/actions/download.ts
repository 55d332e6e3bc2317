/** Downloads content as a file. */
export function download(content: Blob, name: string): void {
  const address = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // The URL is revoked later, because the download may start only some time after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

/** Hands a file to the browser to keep. */
export function download(content: Blob, name: string): void {
  const address = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // The browser has taken hold of the content when the click is over; a moment more hurts nobody.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

/** Returns the header with the name of a file (RFC 6266), in ASCII for old clients and in UTF-8. */
export function attachment(fileName: string): string {
  const ascii = fileName.replaceAll(/[^\w .-]/g, '_')
  const encoded = encodeURIComponent(fileName).replaceAll(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`)
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}

/** Returns the content encodings that a client accepts. Brotli is preferred to gzip. */
export function encodingsOf(header: string | string[] | undefined): ('br' | 'gzip')[] {
  const accepted = String(header ?? '')
  return (['br', 'gzip'] as const).filter((encoding) =>
    new RegExp(`\\b${encoding}\\b(?!;q=0(?:\\.0+)?\\b)`).test(accepted),
  )
}

/** Announces a text to screen readers. */
export function announce(text: string): void {
  const place = document.getElementById('announcement')
  if (place !== null) place.textContent = text
}

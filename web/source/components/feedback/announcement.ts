/** Says something to people who do not see it happen. */
export function announce(text: string): void {
  const place = document.getElementById('announcement')
  if (place !== null) place.textContent = text
}

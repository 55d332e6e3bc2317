/** Returns a share in whole percent. A share that is not complete is not rounded up to 100 percent. */
export function assignedShare(assigned: number, all: number): number {
  const percent = Math.round((100 * assigned) / all)
  return (assigned < all ? Math.min(99, percent) : percent) / 100
}

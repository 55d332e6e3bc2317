/** Says yes once per key and time: for what happens often and is worth telling now and then. */
export function oncePer({ ms, remembered }: { ms: number; remembered: number }, now: () => number = Date.now) {
  const last = new Map<string, number>()
  return (key: string): boolean => {
    const before = last.get(key)
    if (before !== undefined && now() - before < ms) return false
    last.delete(key)
    last.set(key, now())
    if (last.size > remembered) {
      const [oldest] = last.keys()
      if (oldest !== undefined) last.delete(oldest)
    }
    return true
  }
}

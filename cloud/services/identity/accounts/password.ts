import { Problem } from '@millwright/api/problem.ts'

export const passwordLength = { shortest: 12, longest: 256 } as const

/** Passwords that are long enough but are among the first that attackers try. */
const mostCommon = new Set([
  '123456789012',
  '1234567890123',
  '12345678901234567890',
  '123456789101112',
  '1q2w3e4r5t6y',
  '1qaz2wsx3edc',
  '1qaz2wsx3edc4rfv',
  'abcdefghijkl',
  'administrator',
  'administrator1',
  'administrator123',
  'admin1234567',
  'adminadminadmin',
  'changeme1234',
  'changemechangeme',
  'correcthorsebatterystaple',
  'iloveyou1234',
  'letmein12345',
  'letmeinletmein',
  'millwright123',
  'millwrightmillwright',
  'operator1234',
  'passw0rd1234',
  'password1234',
  'password12345',
  'password123456',
  'passwordpassword',
  'q1w2e3r4t5y6',
  'qwerty123456',
  'qwertyqwerty',
  'qwertyuiop12',
  'qwertyuiop123',
  'qwertyuiopasdf',
  'qwertyuiopasdfghjkl',
  'supervisor123',
  'trustno1trustno1',
  'welcome12345',
  'zaq12wsxcde3',
])

const fewestDifferentCharacters = 5
const shortestNameToLookFor = 3

/** Returns what to change in a weak password. Returns `undefined` for a strong password. */
export function weaknessOf(password: string, name: string): string | undefined {
  const characters = [...password]
  const folded = password.toLowerCase()
  if (characters.length < passwordLength.shortest) return `Use at least ${passwordLength.shortest} characters`
  if (characters.length > passwordLength.longest) return `Use at most ${passwordLength.longest} characters`
  if (name.length >= shortestNameToLookFor && folded.includes(name.toLowerCase())) {
    return 'Choose a password that does not contain your user name'
  }
  if (new Set(characters).size < fewestDifferentCharacters) {
    return `Use at least ${fewestDifferentCharacters} different characters`
  }
  if (mostCommon.has(folded)) return 'Choose a different password: this password is in lists of common passwords'
  return undefined
}

export function requireStrongPassword(password: string, name: string): void {
  const weakness = weaknessOf(password, name)
  if (weakness !== undefined) throw new Problem('weak_password', weakness)
}

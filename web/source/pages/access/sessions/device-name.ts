import type { Session } from '@millwright/api/sign-in-security.ts'
import type { sessionMessages } from './messages.ts'

type Text = (typeof sessionMessages)['en']

/** Returns the device of a session in the language of the console. The API returns it in English: "Firefox on Windows". */
export function deviceName({ device }: Pick<Session, 'device'>, text: Text): string {
  const [, program = device, system] = /^(.+) on (Android|iPadOS|iOS|Windows|macOS|ChromeOS|Linux)$/.exec(device) ?? []
  const names: Readonly<Record<string, string>> = {
    'millwright command line': text.commandLineProgram,
    'Unknown browser': text.unknownBrowser,
  }
  const name = names[program] ?? program
  if (system !== undefined) return text.programOn(name, system)
  return name === 'Unknown device' ? text.unknownDevice : name
}

import type { Command } from 'commander'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { Profiles } from './profiles.ts'
import { readClientConfiguration } from './settings.ts'

export function addCommands(logout: Command, terminal: Terminal): void {
  logout
    .option('--profile <name>', 'which one (default: the profile in use)')
    .action(async ({ profile }: { profile?: string }) => {
      const configuration = await readClientConfiguration(terminal.environment)
      const profiles = new Profiles(configuration)
      const name = profile ?? configuration.profile ?? (await profiles.current()) ?? 'default'
      const found = await profiles.find(name)
      if (found === undefined) throw usageError(`There is no profile ${name}.`, 'millwright profiles list shows them')
      const ended = await (found.kind === 'program' ? revokeToken(found) : endSession(found))
      await profiles.remove(name)
      await terminal.print(`Signed out of ${found.url}, profile ${name}.`)
      if (!ended)
        terminal.tell('The platform could not be reached: tokens of this profile stay valid until they expire.')
    })
}

/** Ends the sign-in session with its refresh tokens and access tokens. */
function endSession({ url, refreshToken }: { url: string; refreshToken: string }): Promise<boolean> {
  return post(`${url}/oauth/logout`, { refresh_token: refreshToken })
}

type ProgramTokens = { url: string; clientId: string; clientSecret: string; accessToken: string }

function revokeToken({ url, clientId, clientSecret, accessToken }: ProgramTokens): Promise<boolean> {
  return post(`${url}/oauth/revoke`, { client_id: clientId, client_secret: clientSecret, token: accessToken })
}

async function post(url: string, form: Record<string, string>): Promise<boolean> {
  const sent = { method: 'POST', body: new URLSearchParams(form), redirect: 'error' as const }
  const response = await fetch(url, sent).catch(() => undefined)
  return response?.ok === true
}

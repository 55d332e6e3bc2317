import type { Command } from 'commander'
import { usageError } from '../report.ts'
import type { Terminal } from '../terminal.ts'
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
      const ended = found.kind === 'program' || (await endSession(found))
      await profiles.remove(name)
      await terminal.print(`Signed out of ${found.url}, profile ${name}.`)
      if (!ended) terminal.tell('The platform could not be told: the session there ends by itself after 12 hours.')
    })
}

async function endSession({ url, refreshToken }: { url: string; refreshToken: string }): Promise<boolean> {
  const body = new URLSearchParams({ refresh_token: refreshToken })
  const response = await fetch(`${url}/oauth/logout`, { method: 'POST', body, redirect: 'error' }).catch(
    () => undefined,
  )
  return response?.ok === true
}

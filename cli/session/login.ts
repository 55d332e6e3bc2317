import type { Command } from 'commander'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformOrigin, requirePlatform } from './address.ts'
import { type Profile, Profiles } from './profiles.ts'
import { readClientConfiguration } from './settings.ts'
import { askForToken, byClientSecret, type Tokens } from './token-endpoint.ts'

type Options = { profile?: string; clientId?: string; browser: boolean }

const thisMachine = 'http://127.0.0.1:8080'

export function addCommands(login: Command, terminal: Terminal): void {
  login
    .argument('[url]', `the platform (default: MILLWRIGHT_URL, that of the profile, or ${thisMachine})`)
    .option('--profile <name>', 'under which name to remember it', 'default')
    .option('--no-browser', 'print the address instead of opening it')
    .option('--client-id <id>', 'as a program (server user); its secret is asked for, or read from standard input')
    .addHelpText(
      'after',
      `
People sign in with their browser; the password is typed there and nowhere else. Where this machine has none, open the
address in a browser elsewhere, and paste the address that it ends at.

Tokens are kept in a file that nobody else can read, below $XDG_CONFIG_HOME/millwright (~/.config/millwright), and renewed
while you use them. A platform is reached by https; by http only on this machine.

Programs can do without signing in: MILLWRIGHT_URL with MILLWRIGHT_CLIENT_ID and MILLWRIGHT_CLIENT_SECRET, or with
MILLWRIGHT_TOKEN. On the machine of the platform nobody needs to sign in while first-run.json is there.

Examples:
  millwright login https://plant.example
  millwright login https://plant.example --profile ci --client-id su_… < secret-file`,
    )
    .action((url: string | undefined, options: Options) => signIn(terminal, url, options))
}

async function signIn(terminal: Terminal, given: string | undefined, options: Options): Promise<void> {
  const configuration = await readClientConfiguration(terminal.environment)
  const profiles = new Profiles(configuration)
  const name = options.profile ?? 'default'
  const known = await profiles.find(name).catch(() => undefined)
  const url = platformOrigin(given ?? configuration.url ?? known?.url ?? thisMachine)
  const clientId = options.clientId ?? configuration.clientId
  const profile =
    clientId === undefined
      ? await asPerson(terminal, url, options)
      : await asProgram(url, { clientId, clientSecret: await secretOf(terminal, configuration.clientSecret) })
  await profiles.put(name, profile)
  await profiles.use(name)
  await terminal.print(`Signed in at ${url} as ${profile.name}, profile ${name}.`)
}

async function asPerson(terminal: Terminal, url: string, { browser }: Options): Promise<Profile> {
  await requirePlatform(url)
  const { signInWithBrowser } = await import('./browser-sign-in.ts')
  const tokens = await signInWithBrowser(terminal, { url, opensBrowser: browser })
  const { refreshToken } = tokens
  if (refreshToken === undefined) throw new CommandError('The platform gave no refresh token.')
  return { url, ...(await whose(url, tokens)), kind: 'person', ...tokens, refreshToken }
}

async function asProgram(url: string, credentials: { clientId: string; clientSecret: string }): Promise<Profile> {
  const tokens = await askForToken(url, byClientSecret(credentials.clientId, credentials.clientSecret))
  return { url, ...(await whose(url, tokens)), kind: 'program', ...credentials, ...tokens }
}

/** A secret is never an argument: arguments are seen by everybody on the machine. */
async function secretOf(terminal: Terminal, given: string | undefined): Promise<string> {
  const secret = given ?? (terminal.canAsk ? await terminal.askSecret('Client secret: ') : await terminal.input())
  if (secret.trim() === '') throw usageError('The client secret is empty.', 'give it on standard input')
  return secret.trim()
}

async function whose(url: string, { accessToken }: Tokens): Promise<{ name: string; tenant: string }> {
  const response = await fetch(`${url}/oauth/userinfo`, { headers: { authorization: `Bearer ${accessToken}` } })
  if (!response.ok) throw new CommandError('The platform does not know its own token.', { exitCode: exitCodes.denied })
  const { preferred_username: name, tenant_name: tenant } = (await response.json()) as Record<string, string>
  return { name: name ?? '', tenant: tenant ?? '' }
}

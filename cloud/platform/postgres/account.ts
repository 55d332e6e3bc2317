import { type SpawnOptions, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { StartError } from '../start-error.ts'

export type Owner = { uid: number; gid: number }
export type User = Owner & { name: string }

/** Who the server runs as. PostgreSQL refuses to run as root, and initdb refuses a user without a name. */
export type Account = Owner & {
  name: string
  /** Set when the server runs in a user namespace: who it takes itself for, while its files belong to `uid`. */
  appearsAs?: Owner
}

const rootUser: User = { name: 'root', uid: 0, gid: 0 }

/**
 * Whom to try, in order. Files decide before anything else: a server cannot run on files of somebody else. As root, a
 * new home belongs to its owner, and root's own homes to the user that systems keep for PostgreSQL.
 */
export function candidates(known: { self: Owner; home: Owner; data: Owner | undefined; users: User[] }): Account[] {
  const { self, home, data, users } = known
  const reserved = users.find(({ name }) => name === 'postgres') ?? users.find(({ name }) => name === 'nobody')
  const stranger = reserved ?? users.find(({ uid }) => uid !== 0) ?? { uid: 65534, gid: 65534 }
  const direct = (owner: Owner): Account => ({ ...owner, name: nameOf(owner, users) })
  const namespaced = (owner: Owner): Account => ({
    ...direct(owner),
    appearsAs: { uid: stranger.uid, gid: stranger.gid },
  })

  if (self.uid !== 0) return [direct(self), namespaced(self)]
  if (data?.uid === 0) return [namespaced(rootUser)]
  if (data !== undefined) return [direct(data), namespaced(data)]
  if (home.uid !== 0) return [direct(home), namespaced(home), namespaced(rootUser)]
  return [...(reserved === undefined ? [] : [direct(reserved)]), namespaced(rootUser)]
}

function nameOf({ uid }: Owner, users: User[]): string {
  return [...users, rootUser].find((user) => user.uid === uid)?.name ?? `user ${uid}`
}

export function parseUsers(passwd: string): User[] {
  return passwd.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':')
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : []
  })
}

export function systemUsers(): User[] {
  try {
    return parseUsers(readFileSync('/etc/passwd', 'utf8'))
  } catch {
    return []
  }
}

/** The first candidate that can pass through to every folder; else the folder that stops the first one. */
export function chooseAccount(accounts: Account[], needs: { folders: string[]; isNew: boolean }): Account {
  const obstacles: string[] = []
  for (const account of accounts) {
    const obstacle = obstacleFor(account, needs)
    if (obstacle === undefined) return account
    obstacles.push(obstacle)
  }
  throw new StartError(
    `PostgreSQL cannot run as ${accounts[0]?.name}: ${obstacles[0]}; or start Millwright as an ordinary user with a home of its own.`,
  )
}

/**
 * Asks the system by trying, as that account: modes alone leave out access lists, mounts and what a container forbids.
 */
function obstacleFor(account: Account, needs: { folders: string[]; isNew: boolean }): string | undefined {
  const check = `
    for folder in "$@"; do [ -x "$folder" ] || { echo "$folder"; exit 3; }; done
    ${needs.isNew ? 'id -un >&2 || exit 4' : ''}`
  const folders = [...new Set(needs.folders.flatMap(withParents))]
  const { program, programArguments, options } = as(account, '/bin/sh', ['-c', check, 'sh', ...folders])
  const { status, stdout } = spawnSync(program, programArguments, { ...options, encoding: 'utf8', cwd: '/' })
  if (status === 0) return undefined
  if (status === 3) return `it may not enter ${stdout.trim()}, let it in`
  if (status === 4) return 'that user has no name on this system, add it to /etc/passwd'
  return account.appearsAs === undefined
    ? 'this process may not become that user, give the home to another'
    : 'that needs user namespaces, which are not allowed here, give the data to another user'
}

export function canEnter(account: Account, folder: string): boolean {
  return obstacleFor(account, { folders: [folder], isNew: false }) === undefined
}

/** From the root down, so that the first obstacle is the one to remove. */
export function withParents(folder: string): string[] {
  const parent = path.dirname(folder)
  return parent === folder ? [folder] : [...withParents(parent), folder]
}

/** How to start a program as an account. */
export function as(account: Account, program: string, programArguments: string[]) {
  const switches = process.getuid?.() !== account.uid
  const options: Pick<SpawnOptions, 'uid' | 'gid'> = switches ? { uid: account.uid, gid: account.gid } : {}
  if (account.appearsAs === undefined) return { program, programArguments, options }
  const { uid, gid } = account.appearsAs
  const namespace = ['--user', `--map-user=${uid}`, `--map-group=${gid}`, '--', program]
  return { program: 'unshare', programArguments: [...namespace, ...programArguments], options }
}

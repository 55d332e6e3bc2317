import { type SpawnOptions, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { StartError } from '../start-error.ts'

export type Owner = { uid: number; gid: number }
export type User = Owner & { name: string }

/** The user that the server runs as. PostgreSQL refuses to run as root, and initdb refuses a user without a name. */
export type Account = Owner & {
  name: string
  /**
   * The user that the server appears as in a user namespace. The files of the server belong to `uid`. Only set if the
   * server runs in a user namespace.
   */
  appearsAs?: Owner
}

const rootUser: User = { name: 'root', uid: 0, gid: 0 }

/**
 * Returns the accounts to try, in order. The owner of existing data comes first, because a server cannot use files of
 * another user. If this process runs as root, the server of a new home runs as the owner of the home. If root owns the
 * home, the server runs as the PostgreSQL user of the system.
 */
export function candidates(owners: { self: Owner; home: Owner; data: Owner | undefined; users: User[] }): Account[] {
  const { self, home, data, users } = owners
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

/**
 * Returns the first candidate that can enter every folder. If there is none, it throws with the obstacle of the first
 * candidate.
 */
export function chooseAccount(accounts: Account[], needs: { folders: string[]; isNew: boolean }): Account {
  const obstacles: string[] = []
  for (const account of accounts) {
    const obstacle = obstacleFor(account, needs)
    if (obstacle === undefined) return account
    obstacles.push(obstacle)
  }
  throw new StartError(
    `PostgreSQL cannot run as user "${accounts[0]?.name}": ${obstacles[0]}, or start Millwright as an ordinary user with its own home.`,
  )
}

/**
 * Returns the reason why an account cannot use the folders. It runs a command as that account, because file modes do
 * not show access control lists, mounts and container restrictions.
 */
function obstacleFor(account: Account, needs: { folders: string[]; isNew: boolean }): string | undefined {
  const check = `
    for folder in "$@"; do [ -x "$folder" ] || { echo "$folder"; exit 3; }; done
    ${needs.isNew ? 'id -un >&2 || exit 4' : ''}`
  const folders = [...new Set(needs.folders.flatMap(withParents))]
  const { program, programArguments, options } = as(account, '/bin/sh', ['-c', check, 'sh', ...folders])
  const { status, stdout } = spawnSync(program, programArguments, { ...options, encoding: 'utf8', cwd: '/' })
  if (status === 0) return undefined
  if (status === 3) return `it cannot enter ${stdout.trim()}. Change the permissions of that folder`
  if (status === 4) return 'this user has no name on this system. Add it to /etc/passwd'
  return account.appearsAs === undefined
    ? 'this process cannot switch to that user. Change the owner of the home'
    : 'user namespaces are required, but not allowed here. Change the owner of the data'
}

export function canEnter(account: Account, folder: string): boolean {
  return obstacleFor(account, { folders: [folder], isNew: false }) === undefined
}

/**
 * Returns all parents of a folder, from the root down, and then the folder. So the first obstacle that is found is the
 * one to remove.
 */
export function withParents(folder: string): string[] {
  const parent = path.dirname(folder)
  return parent === folder ? [folder] : [...withParents(parent), folder]
}

/** Returns the command that starts a program as an account. */
export function as(account: Account, program: string, programArguments: string[]) {
  const switches = process.getuid?.() !== account.uid
  const options: Pick<SpawnOptions, 'uid' | 'gid'> = switches ? { uid: account.uid, gid: account.gid } : {}
  if (account.appearsAs === undefined) return { program, programArguments, options }
  const { uid, gid } = account.appearsAs
  const namespace = ['--user', `--map-user=${uid}`, `--map-group=${gid}`, '--', program]
  return { program: 'unshare', programArguments: [...namespace, ...programArguments], options }
}

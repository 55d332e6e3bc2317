import type { Command } from 'commander'

export const shells = ['bash', 'zsh', 'fish'] as const

/** One command: the words that lead to it, what may follow, and its options. */
type Place = {
  path: string
  description: string
  commands: { name: string; description: string }[]
  options: { flags: string[]; description: string; takesValue: boolean; choices: readonly string[] }[]
  choices: readonly string[]
}

/** Every command of the tree. */
export function treeOf(command: Command, path = ''): Place[] {
  const own: Place = {
    path,
    description: command.description(),
    commands: command.commands.map((one) => ({ name: one.name(), description: one.description() })),
    options: [
      ...command.options.map(({ short, long, description, required, optional, argChoices = [] }) => ({
        flags: [short, long].flatMap((flag) => flag ?? []),
        description,
        takesValue: required || optional,
        choices: argChoices,
      })),
      { flags: ['--help'], description: 'what there is to say about it', takesValue: false, choices: [] },
    ],
    choices: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
  }
  return [own, ...command.commands.flatMap((one) => treeOf(one, path === '' ? one.name() : `${path} ${one.name()}`))]
}

export function scriptFor(shell: (typeof shells)[number], tree: readonly Place[]): string {
  return { bash, zsh, fish }[shell](tree)
}

/** Options after which a value stands, wherever they are; the few that take one here and none there do not count. */
function valueFlags(tree: readonly Place[]): string[] {
  const options = tree.flatMap((place) => place.options)
  const alone = new Set(options.filter(({ takesValue }) => !takesValue).flatMap(({ flags }) => flags))
  const taking = options.filter(({ takesValue }) => takesValue).flatMap(({ flags }) => flags)
  return [...new Set(taking)].filter((flag) => !alone.has(flag)).toSorted()
}

type Offer = { name: string; description: string }
type Offers = { at: string[]; offers: Offer[] }

/** What may follow a command, and what the options that have choices. */
function offersOf(tree: readonly Place[]): { ofValues: Offers[]; ofCommands: Offers[] } {
  const plain = (choices: readonly string[]) => choices.map((name) => ({ name, description: '' }))
  const ofValues = tree.flatMap(({ path, options }) =>
    options
      .filter(({ choices }) => choices.length > 0)
      .map(({ flags, choices }) => ({ at: flags.map((flag) => `${path} ${flag}`), offers: plain(choices) })),
  )
  const ofCommands = tree.map(({ path, commands, choices, options }) => {
    const flagged = options.flatMap(({ flags, description }) => flags.map((name) => ({ name, description })))
    return { at: [path], offers: [...commands, ...plain(choices), ...flagged] }
  })
  return { ofValues, ofCommands }
}

/** What bash and zsh share: which command was typed so far, and what may follow. */
function deciding(tree: readonly Place[], words: string, offering: (offers: Offer[]) => string): string {
  const flags = valueFlags(tree).join('|')
  const { ofValues, ofCommands } = offersOf(tree)
  const cases = (offers: readonly Offers[]) =>
    offers.map(({ at, offers: own }) => `      ${at.map((one) => `'${one}'`).join('|')}) offered=${offering(own)} ;;`)
  return `  for word in ${words}; do
    if [ -n "$isValue" ]; then isValue=''; continue; fi
    case "$word" in ${flags}) isValue=1; continue ;; -*) continue ;; esac
    next="\${at:+$at }$word"
    case "$next" in ${tree.map(({ path }) => `'${path}'`).join('|')}) at="$next" ;; *) break ;; esac
  done
  case "$previous" in
    ${flags}) case "$at $previous" in
${cases(ofValues).join('\n')}
    esac ;;
    *) case "$at" in
${cases(ofCommands).join('\n')}
    esac ;;
  esac`
}

/** Words that stand for values go by file names, as the shell does it. */
function bash(tree: readonly Place[]): string {
  const offering = (offers: Offer[]) => `'${offers.map(({ name }) => name).join(' ')}'`
  return `# bash completion for millwright
_millwright() {
  local at='' word next isValue='' offered=''
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
${deciding(tree, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`, offering)}
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
  if [ "\${#COMPREPLY[@]}" -eq 0 ]; then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _millwright millwright`
}

/** The shell runs the file itself at the first completion, and what it defines from then on; both have to answer. */
function zsh(tree: readonly Place[]): string {
  const quoted = (text: string) => text.replaceAll("'", "'\\''")
  const entry = ({ name, description }: Offer) =>
    `'${quoted(name.replaceAll(':', '\\:'))}${description === '' ? '' : `:${quoted(description)}`}'`
  const offering = (offers: Offer[]) => `(${offers.map(entry).join(' ')})`
  return `#compdef millwright
_millwright() {
  local at='' word next isValue='' previous="\${words[CURRENT-1]}"
  local -a offered
${deciding(tree, `"\${(@)words[2,CURRENT-1]}"`, offering)}
  if (( $#offered )); then _describe 'millwright' offered || _files; else _files; fi
}
if [ "$funcstack[1]" = _millwright ]; then _millwright "$@"; else compdef _millwright millwright; fi`
}

/** One look at the line decides; hundreds of conditions, one for each word, would take a second for each key. */
function fish(tree: readonly Place[]): string {
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const entry = ({ name, description }: Offer) => quoted(description === '' ? name : `${name}\t${description}`)
  const { ofValues, ofCommands } = offersOf(tree)
  const cases = (offers: readonly Offers[]) =>
    offers.map(
      ({ at, offers: own }) =>
        `      case ${at.map(quoted).join(' ')}\n        set offered ${own.map(entry).join(' ')}`,
    )
  return `# fish completion for millwright
function __millwright_decide
  set -l flags ${valueFlags(tree).join(' ')}
  set -l known ${tree.map(({ path }) => quoted(path)).join(' ')}
  set -l typed (commandline -opc)
  set -l at ''
  set -l is_value no
  for word in $typed[2..]
    if test $is_value = yes
      set is_value no
      continue
    end
    if contains -- $word $flags
      set is_value yes
      continue
    end
    string match -q -- '-*' $word; and continue
    set -l next (string trim -- "$at $word")
    contains -- $next $known; or break
    set at $next
  end
  set -l offered
  if contains -- $typed[-1] $flags
    switch "$at $typed[-1]"
${cases(ofValues).join('\n')}
    end
  else
    switch "$at"
${cases(ofCommands).join('\n')}
    end
  end
  set -g __millwright_offered (string match -r -- '^'(string escape --style=regex -- (commandline -ct))'.*' $offered)
  test (count $__millwright_offered) -gt 0
end
complete -c millwright -n __millwright_decide -f -k -a '$__millwright_offered'`
}

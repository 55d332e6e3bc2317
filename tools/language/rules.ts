import type { PassageKind } from './passages.ts'

/**
 * This file lists phrases that signal a sentence to rewrite in plain engineering English. A rule must be precise, so
 * that its phrase is almost never correct. Correct uses that a pattern cannot exclude are listed in `allowed`, each
 * with its reason.
 */
export type Rule = {
  pattern: RegExp
  hint: string
  /** The kinds of text that the rule applies to. If absent, the rule applies to all kinds. */
  kinds?: readonly PassageKind[]
}

const sentences: readonly PassageKind[] = ['prose', 'comment', 'text', 'title']

/** Returns the rule for a phrase. A space in the phrase also matches a line break. */
function phrase(source: string, hint: string, kinds: readonly PassageKind[] = sentences): Rule {
  return { pattern: new RegExp(source.replaceAll(' ', '\\s+'), 'gi'), hint, kinds }
}

export const rules: readonly Rule[] = [
  phrase(
    '\\b(?:whoever|whomever|whatever|somebody|nobody|anybody|everybody)\\b',
    'name the subject: "the caller", "the worker", "no process"',
  ),
  phrase(
    '\\b(?:one|ones|those|others|anyone|everyone|all|each|someone) who\\b',
    'name the subject: "users who …", "a caller that …"',
  ),
  phrase(
    '(?:^|[.:;] )who (?:is|has|was|may|can|does|wants|asks|holds|[a-z]+s)\\b(?![^.;:]*\\?)',
    'name the subject: "A caller that …"',
    ['prose', 'comment', 'text'],
  ),
  phrase('\\b(?:told|tells?|telling)\\b(?! apart\\b)', 'use "reports", "returns", "notifies", "describes" or "given"'),
  phrase('\\b(?:told|tells?) apart\\b', 'use "distinguish"'),
  phrase('\\banew\\b', 'use "again" or "new"'),
  phrase('\\bof (?:before|then|now)\\b', 'use "previous", "earlier", "current"'),
  phrase('\\b(?:go|goes|went|going) on\\b', 'use "continues" or "next page"'),
  phrase('\\b(?:comes?|came|coming) (?:in|over)\\b', 'use "arrives", "is received", "connects"'),
  phrase('\\b(?:take|takes|took|taken|taking) (?:it |them )?for\\b', 'use "treated as" or "considered"'),
  phrase('\\bby (?:itself|themselves)\\b', 'use "automatically" or "alone"'),
  phrase('\\bat hand\\b', 'use "available" or "in memory"'),
  phrase('\\bthe (?:law|house)\\b', 'use "the specification" or "the repository"'),
  phrase('\\bsouls?\\b', 'name the concept'),
  phrase(
    '\\bwhat (?:there )?(?:is|was|are) (?:there|left|gone|new|meant|known|shown|asked)\\b|\\bwhat there (?:is|was|are)\\b',
    'name the object: "the existing assets"',
  ),
  phrase(
    '\\bwhat (?:hangs|stands|comes|goes|belongs|became|lies|runs)\\b',
    'name the object: "the dependents", "the running jobs"',
  ),
  phrase(
    '(?<!\\b(?:there|it|here) )\\b(?:is|are|was|were) no (?!longer\\b|more\\b|less\\b|different\\b|problem\\b)',
    'use "is not a …"',
  ),
  phrase('\\b(?:stands(?! for)|stood)\\b', 'use "is written", "is stored", "is"'),
  phrase('\\b(?:says|said)\\b', 'use "states", "defines", "returns", "reports"'),
  phrase('\\b(?:wants|wanted)\\b', 'use "needs", "expects", "requests"'),
  phrase('\\b(?:a look|looks? at|looked at|looking at|looks? there)\\b', 'use "reads", "checks", "inspects", "view"'),
  phrase('\\basked\\b', 'use "requested", "queried" or "called"'),
  phrase('\\b(?:is|are|was|were|be|been|being) made\\b(?! (?:of|up|available|to|by))', 'use "is created"'),
  phrase('\\b(?:any more|anymore)\\b(?! (?:than|of)\\b)', 'use "no longer"'),
  phrase('\\bfor good\\b', 'use "permanently"'),
  phrase('\\bonce more\\b', 'use "again"'),
  phrase('\\bagain and again\\b', 'use "repeatedly"'),
  phrase('\\bbeside\\b', 'use "next to", "besides" or "in addition to"'),
  phrase('\\b(?:afar|in earnest|in threes|all the same|not few|not seldom)\\b', 'use the plain term'),
  phrase(
    '\\bof (?:ours|yours|theirs)\\b|\\b(?:an?|one|no|any|every|each) (?:[\\w-]+ ){1,2}of (?:its|their|your|our|his) own\\b|\\b[a-z-]+s of their own\\b',
    'put the owner first: "its own process", "your program"',
  ),
  phrase('\\bhangs? (?:on|together)\\b', 'use "depends on", "is related to"'),
  phrase('\\b(?:twin|twins)\\b(?<!digital twins?)', 'use "duplicate"'),
  phrase('\\bharmless(?:ly)?\\b', 'state the effect, for example "has no effect"'),
  phrase('\\bone by one\\b', 'use "one at a time" or "individually"'),
  phrase('\\bknows? (?:of|nothing|none|no)\\b', 'use "does not depend on", "is aware of"'),
  phrase('\\b(?:is|are) (?:sound|fit|well)\\b', 'use "is valid"'),
  phrase('\\b(?:became|becomes?) (?:other|another)\\b', 'use "changed"'),
  phrase('\\b(?:gives?|gave) way\\b', 'use "yields"'),
  phrase('\\bout of the world\\b|\\bin the way\\b|\\bdoes no harm\\b', 'use the plain term'),
  phrase('\\b(?:niemand|jemand|wer auch)\\b', 'Handelnde benennen: „der Aufrufer“, „ein anderer Prozess“', ['text']),
  phrase(
    '^(?:and|but|or|nor|so|also|too|yet|either|neither)\\b',
    'a title is understandable without its describe: "returns 403 when …"',
    ['title'],
  ),
  {
    pattern:
      /^(?:Found|Known|Ways?|Seen|Said|Kept|Made|Taken|Meant|Tried|Tries|Fate|Ending|End|Things?|Turns|Sharing|Sharer|Stating|Handover)$|(?:Given|Told|Wanted|Asked|Gone|Desk|Glances?|Question)$/g,
    hint: 'a type is a noun for what it is: RelationInput, ClaimedJob, AssetRow, AssetTableProps',
    kinds: ['type name'],
  },
]

/**
 * The maximum length of a sentence, in words. The goal is 25 words. Readers have to read a sentence above this maximum
 * twice.
 */
export const longestSentence = 40

export type Exception = { file: string; text: string; reason: string }

/** The correct uses of the phrases above. The check fails if an entry is not needed. */
export const allowed: readonly Exception[] = [
  { file: 'cli/completion/scripts.ts', text: 'fish completion for', reason: 'the text is a shell script' },
]

/**
 * The folders and files that are not checked yet. `cloud/*` means the files directly in `cloud`. Remove an entry when
 * its folder has no findings. `node tools/language-check.mjs <folder>` lists the findings of a folder.
 */
export const notYet: readonly string[] = []

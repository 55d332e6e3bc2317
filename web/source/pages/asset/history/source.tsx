import { Link } from '@tanstack/react-router'
import { useText } from '../../../app/language/language-context.tsx'
import { linkTitle } from '../../discovery/built-in-links.ts'
import { identityMessages } from '../identity/identity-messages.ts'

type SourceProps = { source: { type: string; value?: string } }

/** `Source` shows the source of a change. For merges and splits, it links to the other asset of the merge or split. */
export function Source({ source: { type, value } }: SourceProps) {
  const text = useText(identityMessages)
  const names: Readonly<Record<string, string>> = {
    discovery: text.discovery,
    assetlinkdiscovery: text.assetlinkdiscovery,
    manual: text.manual,
    merge: text.merge,
    merge_undone: text.merge_undone,
    split: text.splitSource,
  }
  const name = names[type] ?? type
  if (value === undefined) return name
  if (type === 'discovery') return text.reportedBy(linkTitle(value))
  if (!/^(merge|merge_undone|split)$/.test(type)) return `${name}: ${linkTitle(value)}`
  return (
    <>
      {name}:{' '}
      <Link to="/assets/$id" params={{ id: value }}>
        {text.otherAsset}
      </Link>
    </>
  )
}

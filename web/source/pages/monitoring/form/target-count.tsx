import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { formMessages } from './messages.ts'

/** The delay after the last change before the devices are counted. */
const debounceMs = 400

type TargetSelection = {
  filter: string
  /** The ids of the asset links. Empty: all links. */
  links: readonly string[]
}

/** Counts the assets that match a filter, and those of them that the asset links can check now. */
export function useTargetCount({ filter, links }: TargetSelection) {
  const query = useOperationQuery()
  const canRun = usePermission('glb_discovery_run')
  const selection = JSON.stringify({ targets: { filter: filter.trim() }, assetLinkIds: links })
  const [counted, setCounted] = useState(selection)
  useEffect(() => {
    const timer = setTimeout(() => setCounted(selection), debounceMs)
    return () => clearTimeout(timer)
  }, [selection])
  return useQuery({
    ...query(['monitoring', 'countTargets'], { body: { data: JSON.parse(counted) } }),
    enabled: canRun && filter.trim() !== '',
    retry: false,
    placeholderData: (before) => before,
  })
}

/** `TargetCount` shows how many assets match and can be checked now, or what is wrong with the filter. */
export function TargetCount(selection: TargetSelection) {
  const text = useText(formMessages)
  const formats = useFormats()
  const { data, error } = useTargetCount(selection)
  if (selection.filter.trim() === '') return null
  if (error !== null) return <ProblemMessage failure={error} />
  const counts = data?.data
  return (
    <p className="field-hint" role="status">
      {counts === undefined
        ? text.counting
        : text.matches(formats.number(counts.matching), formats.number(counts.checkable))}
    </p>
  )
}

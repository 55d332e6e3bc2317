import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { keyOf } from '../../app/api/queries.ts'
import { useAppContext } from '../../app/session/app-context.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'

/**
 * `WorkflowDiagram` shows the diagram that the server draws. The SVG is shown as an image, because an image cannot run
 * scripts.
 */
export function WorkflowDiagram({ name, label }: { name: string; label: string }) {
  const { fetchOperation } = useAppContext()
  const drawing = useQuery({
    queryKey: keyOf('workflows', 'drawWorkflow', name),
    queryFn: async ({ signal }) =>
      (await fetchOperation('workflows', 'drawWorkflow', { params: { name }, signal })).blob(),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return <QueryState query={drawing}>{(blob) => <DiagramImage blob={blob} label={label} />}</QueryState>
}

function DiagramImage({ blob, label }: { blob: Blob; label: string }) {
  const [address, setAddress] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(blob)
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  if (address === undefined) return null
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll it with the arrow keys
    <section className="drawing" tabIndex={0} aria-label={label}>
      <img src={address} alt={label} />
    </section>
  )
}

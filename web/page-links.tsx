/** The way to pages beside this one, in its header. */
export const PageLinks = ({ links }: { links: { href: string; text: string }[] }) => (
  // Loaded anew, because each page has a content security policy of its own.
  <nav aria-label="Pages">
    {links.map(({ href, text }) => (
      <a key={href} href={href} aria-current={location.pathname === href ? "page" : undefined}>
        {text}
      </a>
    ))}
  </nav>
);

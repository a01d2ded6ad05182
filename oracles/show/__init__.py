"""Answers as text, pages, pictures, documents and files for other tools."""

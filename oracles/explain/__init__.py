"""What is checked, what came out, and why: data, before anybody shows it."""
